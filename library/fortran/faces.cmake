# SPDX-License-Identifier: BSD-3-Clause
# Fortran's libraries of other MPIs: the same procedures as libvolley_fortran, compiled for their binary interfaces, whose
# functions of C the faces have (library/faces).
set(face_exports ${CMAKE_CURRENT_SOURCE_DIR}/face_exports.map)

# add_fortran_face(NAME SONAME)
function(add_fortran_face name soname)
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name})
  set(generated)
  foreach(part messages collectives neighbours objects datatypes windows files)
    list(APPEND generated ${folder}/entries_${part}.cpp)
  endforeach()
  list(APPEND generated ${folder}/modules.cpp)
  file(GLOB face_tables CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/abi/faces/*.toml)
  add_custom_command(
    OUTPUT ${generated} ${folder}/mpi.h ${folder}/names.ld
    COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/abi/generate_fortran.py --face ${name} ${folder}
    DEPENDS ${fortran_tables} ${face_tables}
    COMMENT "Generating Fortran's procedures of the face ${name}")
  set(target fortran_face_${name})
  add_library(${target} SHARED ${generated} ${folder}/mpi.h ${procedures} older.cpp sizes.cpp ${name}/variables.cpp)
  target_include_directories(${target} BEFORE PRIVATE ${folder})
  target_compile_definitions(${target} PRIVATE FORTRAN_INTERFACE="fortran/${name}/interface.h")
  target_compile_options(${target} PRIVATE -fno-plt -Wno-missing-attributes)
  target_link_libraries(${target} PRIVATE volley_options face_${name})
  string(REGEX REPLACE "^lib(.*)\\.so\\.(.*)$" "\\1;\\2" parts ${soname})
  list(GET parts 0 base)
  list(GET parts 1 version)
  set_target_properties(${target} PROPERTIES CXX_EXTENSIONS OFF
    LIBRARY_OUTPUT_DIRECTORY ${folder} OUTPUT_NAME ${base} VERSION ${version} SOVERSION ${version}
    BUILD_RPATH_USE_ORIGIN ON INSTALL_RPATH "$ORIGIN" LINK_DEPENDS "${face_exports};${folder}/names.ld")
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc -Wl,--exclude-libs,ALL -Wl,-z,defs
    -Wl,-z,now -Wl,--build-id=sha1 -Wl,--version-script=${face_exports} ${folder}/names.ld)
  if(VOLLEY_SANITIZE)
    target_link_options(${target} PRIVATE -Wl,-z,undefs)
  endif()
  install(TARGETS ${target} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/volley NAMELINK_SKIP)
endfunction()

add_fortran_face(mpich libmpifort.so.12)
add_other_name(fortran_face_mpich libmpichfort.so.12)
add_fortran_face(openmpi libmpi_mpifh.so.40)
add_other_name(fortran_face_openmpi libmpi_usempif08.so.40)
add_other_name(fortran_face_openmpi libmpi_usempi_ignore_tkr.so.40)
